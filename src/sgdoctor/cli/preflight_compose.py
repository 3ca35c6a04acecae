"""``sgdoctor preflight --write-compose``: a first compose file for a model and a card."""

import argparse
import os
import sys
from pathlib import Path

from sgdoctor.messages import say


def write_compose(arguments: argparse.Namespace, lang: str) -> int:
    """Writes the file, or prints it."""
    from sgdoctor.cli.diagnose import EXIT_FINE
    from sgdoctor.cli.fix_answer import version_named
    from sgdoctor.cli.main import complain
    from sgdoctor.preflight.first_compose import first_compose
    from sgdoctor.preflight.situation import Wanted
    from sgdoctor.report.safe import printable
    from sgdoctor.writing import write_new

    if not arguments.model:
        return complain(say(lang, "preflight.needs_model"), lang)
    version = version_named(arguments.version) if arguments.version else ""
    folder = Path(arguments.model).expanduser().absolute()
    written = first_compose(folder, arguments.use, Wanted(gpu=arguments.gpu, version=version), lang)
    if arguments.write_compose == "-":
        sys.stdout.write(written.text)
        if written.files:
            complain(say(lang, "preflight.more_files", names=", ".join(file.path for file in written.files)), lang)
        return EXIT_FINE
    path = Path(arguments.write_compose)
    new = {path.parent / file.path: file.content for file in written.files} | {path: written.text.encode()}
    for place in new:
        if os.path.lexists(place):
            write_new(place, b"")  # says that it exists
    for place, content in new.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        write_new(place, content)
        sys.stdout.write(printable(say(lang, "fix.written", name=str(place))) + "\n")
    return EXIT_FINE

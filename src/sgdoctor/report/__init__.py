"""A verdict as text, JSON, Markdown or SARIF; secrets are left out of all of them."""

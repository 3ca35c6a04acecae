"""Two recorded starts of one server, for ``sgdoctor demo`` and the pictures of the documentation."""

"""Finding credentials in text: rules, the views of a text they search, and ids."""

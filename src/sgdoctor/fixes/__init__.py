"""From a diagnosis and a launch to the changes that fit this card."""

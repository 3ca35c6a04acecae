"""The panes of the app: each draws a part of a view, by a pure function of the view and of its width."""

"""The app of ``sgdoctor watch``: a view of snapshots, GPU readings and lines."""

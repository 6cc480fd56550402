"""The web application and its REST interface: `mtgauge serve`."""

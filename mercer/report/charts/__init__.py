"""Charts: small functions from numbers to inline SVG, coloured by the page's style sheet."""

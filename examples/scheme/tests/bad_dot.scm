(display (quote (1 . 2 3)))

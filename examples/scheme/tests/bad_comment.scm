(display "before")
(newline)
#| a comment
#| in it another |#
without an end
(display "never")

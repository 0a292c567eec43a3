(display "begun")
(newline)
(display 1))

(display "begun")
(newline)
(display "never ends)
(f)

(raise 'an-object)

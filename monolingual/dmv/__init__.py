"""The dependency model with valence: dependency trees over tags, learnt without seeing one."""

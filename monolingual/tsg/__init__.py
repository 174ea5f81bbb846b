"""Tree substitution grammars learnt from treebanks (Cohn, Goldwater and Blunsom 2009)."""

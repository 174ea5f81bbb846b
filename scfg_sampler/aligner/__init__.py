"""Word alignments by phrases of both sides sampled together, in an inversion transduction grammar.

The model is that of Neubig, Watanabe, Sumita, Mori and Kawahara (2011, section 4): a pair of phrases is drawn
from a Pitman–Yor process, whose base distribution makes it of words, or of two pairs, in order or in turn,
that are drawn from the same process. A sentence pair is a draw, too. So phrases of every size are kept, and
taken again as a whole where they have been seen.

The fact a newcomer would get wrong: a table of the restaurant holds not a pair of phrases alone but how it
was made, which is what the words in it are aligned by. The same pair may be at several tables, made in
several ways.
"""

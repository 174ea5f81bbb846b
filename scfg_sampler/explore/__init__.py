"""A run or a system in the browser: questions as JSON objects, answers as JSON objects, and a page that asks.

`sources` opens what is explored; `pairs`, `grammar` and `translation` answer; `server` listens, on this
machine alone. The fact a newcomer would get wrong: nothing a page does changes a run. What is sampled is
sampled in a copy, and thrown away with the answer.
"""

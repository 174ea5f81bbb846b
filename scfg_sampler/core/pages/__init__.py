"""Pages of HTML that stand by themselves: elements, the style sheet, curves."""

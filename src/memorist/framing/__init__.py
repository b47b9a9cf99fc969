"""The frame around recalled text, which no text can leave."""

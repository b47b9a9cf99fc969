"""Other programs' files: chats, and whole stores moved from one to another."""

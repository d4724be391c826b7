"""Bytes of files become text: decoding, PDF, DOCX, HTML."""

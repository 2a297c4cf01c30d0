/** Known deviations of the emulator, with the reason why they are accepted. A case that passes must leave this list. */
export const expectedFailures: Readonly<Record<string, string>> = {
  "DECSC keeps a pending wrap": "xterm.js restores the last column without the wrap, as the VT510 manual leaves open",
  "EL 0 with a pending wrap erases the last cell": "as in tmux, the cursor is past the last cell and nothing is erased",
  "DECFRA fills a rectangle": "no operations on rectangles, and DA1 does not claim them",
  "DECERA erases a rectangle": "no operations on rectangles, and DA1 does not claim them",
  "without DECAWM a wide character replaces the last two cells": "xterm.js drops what does not fit, wide or not",
  "ICH between the halves": "xterm.js leaves the right half as a cell without width; no program inserts there",
  "SS2 shifts one character": "single shifts are not in xterm.js; nothing that knows UTF-8 uses them",
  "SGR 38:2 without a colour space":
    "read as ISO 8613-6 writes it, with a colour space; the common form has semicolons",
  "DECSCL resets the terminal": "a reset for a level that nothing else depends on would only lose the screen",
  "SPA and EPA protect cells from ED": "other terminals know DECSCA or neither, and would erase what stays here",
  "reverse wrap over a line end (1045)": "xterm.js goes back over wrapped lines alone, as xterm's own mode 45",
  "DECRQSS of left and right margins that were set": "nothing wraps or scrolls there, so they are not claimed",
  "DECRQM 69 after ESC [?69h": "no left and right margins in xterm.js; programs that found them claimed would use them",
  "colours of CIE": "they need the measured properties of a screen; no program is known that sets them",
};

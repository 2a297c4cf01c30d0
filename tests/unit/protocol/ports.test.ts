/** The port that a program could not get, from messages of programs of all kinds. */
import { expect, test } from "bun:test";
import { refusedPort } from "../../../src/protocol/ports.ts";

test.each([
  [
    "node:events:502\n      throw er;\n\nError: listen EADDRINUSE: address already in use :::3000\n    at Server.setup (node:net:1908:16)",
    "npm run dev",
    3000,
  ],
  ["OSError: [Errno 98] Address already in use", "python3 -m http.server 8000", 8000],
  ["OSError: [Errno 98] Address already in use", "./serve", null],
  ["listen tcp :8080: bind: address already in use", "go run .", 8080],
  ["listen tcp 127.0.0.1:8081: bind: address already in use", "./api", 8081],
  ["Error: Port 5173 is already in use", "vite", 5173],
  ['thread main panicked: Os { code: 98, message: "Address already in use" }', "cargo run -- --port 7878", 7878],
  ["nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)", "nginx", 80],
  ["Bind for 0.0.0.0:5432 failed: port is already allocated", "docker run -p 5432:5432 pg", 5432],
  ["copy 3000 4000 ready on :5000", "x", null],
  ["Address already in use", "serve 3000 4000", null],
  ["address already in use :::99999", "x", null],
])("%#: %p", (output, command, port) => {
  expect(refusedPort(output, command)).toBe(port);
});

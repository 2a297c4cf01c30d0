/** Entry point of the page: login, then the workspace. */
import { render } from "preact";
import { prepareLogin, reloadForLogin } from "./connection/login.ts";
import { Server } from "./connection/server.ts";
import { App } from "./page/app.tsx";
import { followKeyboard, pinchFont } from "./page/touch.ts";
import { Workspace } from "./page/workspace.ts";

const root = document.getElementById("wsh");
if (root !== null) {
  const server = new Server();
  const entry = prepareLogin(server);
  addEventListener("hashchange", reloadForLogin);
  followKeyboard();
  pinchFont(root);
  render(<App workspace={new Workspace(server, entry === "share")} />, root);
}

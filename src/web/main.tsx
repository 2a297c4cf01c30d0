/** The page's beginning. */
import { render } from "preact";

const root = document.getElementById("wsh");
if (root !== null) render(<p>wsh</p>, root);

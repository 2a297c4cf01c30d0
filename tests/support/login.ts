/** A browser as the server sees it: a page of the instance's own origin, with a key that the page generated. */
import { pageHost } from "../../src/secrets/own-secrets.ts";
import type { Gateway } from "./server.ts";

export class Browser {
  device = "";

  private constructor(
    private readonly gateway: Gateway,
    private readonly keys: CryptoKeyPair,
    readonly origin: string,
  ) {}

  static async create(gateway: Gateway): Promise<Browser> {
    const keys = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);
    const { port } = new URL(gateway.origin);
    return new Browser(gateway, keys, `http://${pageHost(gateway.instance)}:${port}`);
  }

  /** The same browser with a page of another origin. */
  at(origin: string): Browser {
    const other = new Browser(this.gateway, this.keys, origin);
    other.device = this.device;
    return other;
  }

  post(path: string, json: unknown): Promise<Response> {
    const { host } = new URL(this.origin);
    const headers = { Origin: this.origin, "Sec-Fetch-Site": "same-origin", Host: host };
    return this.gateway.tcp(path, { token: null, json, headers });
  }

  async register(code: string): Promise<Response> {
    const key = Buffer.from(await crypto.subtle.exportKey("raw", this.keys.publicKey)).toString("base64");
    const response = await this.post("/auth/device", { code, key });
    if (response.ok) this.device = (await response.clone().json()).device;
    return response;
  }

  /** Redeems a link as a guest's browser does. @returns its bearer token */
  static async guest(gateway: Gateway, code: string): Promise<string> {
    const browser = await Browser.create(gateway);
    await browser.register(code);
    return browser.login();
  }

  /** The answer to a new challenge. */
  async signed(): Promise<{ device: string; nonce: string; signature: string }> {
    const { device, origin } = this;
    const { nonce } = await (await this.post("/auth/challenge", { device })).json();
    return { device, nonce, signature: await this.sign(`wsh login\n${origin}\n${device}\n${nonce}`) };
  }

  async sign(text: string): Promise<string> {
    const bytes = new TextEncoder().encode(text);
    const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, this.keys.privateKey, bytes);
    return Buffer.from(signature).toString("base64");
  }

  async session(): Promise<Response> {
    return this.post("/auth/session", await this.signed());
  }

  /** @returns its bearer token */
  async login(): Promise<string> {
    const response = await this.session();
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()).token;
  }
}

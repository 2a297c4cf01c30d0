/** Serves the documents: OpenAPI as JSON and YAML, and the HTML page. Made at the first request, then cached. */
import type { Hono } from "hono";
import type { AppEnv } from "../http/context.ts";

export function mountDocuments(app: Hono<AppEnv>, basePrefix: string): void {
  const document = once(async () => (await import("./openapi.ts")).openApiDocument(basePrefix));
  const markdown = once(async () => (await import("./page.ts")).docsMarkdown(await document()));
  app.get("/openapi.json", async (c) => c.json(await document()));
  app.get("/openapi.yaml", async (c) =>
    c.body(Bun.YAML.stringify(await document(), null, 2), 200, { "Content-Type": "text/yaml; charset=utf-8" }),
  );
  app.get("/docs", async (c) => {
    const text = await markdown();
    if (!(c.req.header("accept") ?? "").includes("text/html")) {
      return c.body(text, 200, { "Content-Type": "text/markdown; charset=utf-8", Vary: "Accept" });
    }
    const { docsHtml } = await import("./page.ts");
    return c.html(docsHtml(text, basePrefix), 200, { Vary: "Accept" });
  });
  app.get("/docs/style.css", async (c) =>
    c.body((await import("./page.ts")).docsStyle, 200, { "Content-Type": "text/css; charset=utf-8" }),
  );
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}

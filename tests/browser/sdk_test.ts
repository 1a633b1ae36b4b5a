/** The packed client on a page of another origin, in a real browser, as `CORS_ORIGINS` allows. */
import assert from "@std/assert";
import { told } from "../sdk/told.ts";
import { ClientProject, nodeIsThere, storySource } from "../support/packed_client.ts";
import { startSimulatedService } from "../support/service.ts";
import { chromiumIsThere, startChromium } from "./chromium.ts";

const ignore = !chromiumIsThere() || !nodeIsThere();

Deno.test({
  name: "the client does in a browser what it promises, from a page of another origin",
  ignore,
  async fn() {
    await using project = await ClientProject.create();
    assert.deepEqual(project.compile(project.write("story.ts", storySource())), []);
    await using site = serveFolder(project.folder);
    await using service = await startSimulatedService({ CORS_ORIGINS: site.origin }, {
      database: "any",
    });
    const browser = await startChromium();
    try {
      const page = await browser.newPage();
      const blocked: string[] = [];
      page.on("console", (message) => {
        if (/CORS|blocked/i.test(message.text())) blocked.push(message.text());
      });
      await page.goto(`${site.origin}/`);
      const said = await page.evaluate(
        `import("/story.js").then(({ story }) => story(${
          JSON.stringify({ baseUrl: service.baseUrl, apiKey: service.key })
        }))`,
      );
      assert.deepEqual(said, told);
      assert.deepEqual(blocked, []);
    } finally {
      await browser.close();
    }
  },
});

const page = `<!doctype html><title>Somebody's page</title><script type="importmap">
{"imports": {"@demeter-gateway/client": "/node_modules/@demeter-gateway/client/mod.js"}}
</script>`;

/** A web server of somebody else's: the page, and the folder's scripts. */
function serveFolder(folder: string): { origin: string } & AsyncDisposable {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/") return new Response(page, { headers: { "content-type": "text/html" } });
    const text = await Deno.readTextFile(`${folder}${pathname}`).catch(() => null);
    if (text === null) return new Response(null, { status: 404 });
    return new Response(text, { headers: { "content-type": "text/javascript" } });
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

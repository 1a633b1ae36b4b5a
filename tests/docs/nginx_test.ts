import assert from "@std/assert";
import { testCertificate, testCertificateKey } from "../support/service_certificate.ts";

const page = Deno.readTextFileSync("docs/self-hosting.md");
const block = /```nginx\n(.*?)```/s.exec(page)?.[1] ?? "";

/** Where Debian has it, too. */
const nginx = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"].find((path) => {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
});

Deno.test("the nginx example passes streams on, and makes no call twice", () => {
  for (const line of ["proxy_buffering off;", "proxy_next_upstream error timeout;"]) {
    assert.ok(block.includes(line), line);
  }
  // Callers get the service's own errors: it waits ten minutes, and refuses large bodies in JSON.
  assert.match(block, /proxy_read_timeout 660s;/);
  assert.match(block, /client_max_body_size 0;/);
  // WebSockets, and kept connections for everything else.
  assert.match(
    block,
    /Upgrade \$http_upgrade;\n\s+proxy_set_header Connection \$connection_upgrade;/,
  );
  assert.doesNotMatch(block, /non_idempotent/);
  assert.match(block, /^upstream demeter \{/m);
});

// As with other programs of the machine: where it is not, there is no such test.
if (nginx !== undefined) {
  Deno.test("nginx takes the example as it stands", async () => {
    const directory = await Deno.makeTempDir({ prefix: "nginx-" });
    try {
      await Deno.writeTextFile(`${directory}/cert.pem`, testCertificate);
      await Deno.writeTextFile(`${directory}/key.pem`, testCertificateKey);
      const inner = block.replace("/etc/ssl/gateway.pem", `${directory}/cert.pem`)
        .replace("/etc/ssl/gateway.key", `${directory}/key.pem`).replace(
          "listen 443",
          "listen 18443",
        );
      const log = `error_log ${directory}/error.log;`;
      const config = `pid ${directory}/pid;\n${log}\nevents {}\nhttp {\n${inner}}\n`;
      await Deno.writeTextFile(`${directory}/nginx.conf`, config);
      const args = ["-t", "-p", directory, "-c", `${directory}/nginx.conf`];
      const { success, stderr } = await new Deno.Command(nginx, { args }).output();
      assert.ok(success, new TextDecoder().decode(stderr));
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  });
}

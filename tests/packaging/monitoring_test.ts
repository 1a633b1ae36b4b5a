/** The dashboard and the alert rules of `packaging/monitoring/` ask for metrics that there are. */
import assert from "@std/assert";
import { shared, startTestService } from "../support/service.ts";

/** With traces, whose metrics are there only then; nobody listens at that address. */
const service = shared(() =>
  startTestService({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" } })
);
const folder = decodeURIComponent(new URL("../../packaging/monitoring/", import.meta.url).pathname);

interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  datasource?: { uid: string };
  targets?: { expr: string; refId: string; legendFormat: string }[];
}

interface Dashboard {
  panels: Panel[];
  schemaVersion: number;
  uid: string;
  templating: { list: { name: string; type: string; query: string | { query: string } }[] };
}

const dashboard: Dashboard = JSON.parse(
  await Deno.readTextFile(`${folder}grafana-dashboard.json`),
);
const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const queries = dashboard.templating.list.flatMap(({ query }) =>
  typeof query === "string" ? [] : [query.query]
);
const alerts = await Deno.readTextFile(`${folder}alerts.yaml`);

/** Names with their labels: what the service shows, and the text that scrapes see. */
async function shown(): Promise<{ names: Map<string, string>; text: string }> {
  const text = await (await service().fetch("/metrics")).text();
  return {
    text,
    names: new Map(
      [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!] as const),
    ),
  };
}

/** Of `gateway_x_bucket`, `gateway_x` where that is a histogram. */
function nameOf(asked: string, names: ReadonlyMap<string, string>): string {
  const base = asked.replace(/_(bucket|sum|count)$/, "");
  return names.get(base) === "histogram" ? base : asked;
}

Deno.test("each metric of the dashboard and of the alert rules exists", async () => {
  const { names } = await shown();
  const asked = [...expressions, ...queries, alerts].join("\n").match(/\bgateway_\w+/g)!;
  assert.ok(new Set(asked).size > 20);
  for (const name of asked) assert.ok(names.has(nameOf(name, names)), `${name} is no metric`);
});

Deno.test("each metric that the docs name exists", async () => {
  const { names } = await shown();
  const workers = await Deno.readTextFile(
    new URL("../../src/main/serve_workers.ts", import.meta.url),
  );
  const pages = ["configuration", "data", "keys-and-credit", "monitoring", "routing", "calling"]
    .concat("self-hosting");
  for (const page of pages) {
    const text = await Deno.readTextFile(new URL(`../../docs/${page}.md`, import.meta.url));
    for (const [name] of text.matchAll(/\bgateway_\w+[a-z](?![\w*])/g)) {
      const isShown = names.has(nameOf(name, names)) || workers.includes(` ${name}:`) ||
        [...names.keys()].some((each) => each.startsWith(`${name}_`));
      assert.ok(isShown, `docs/${page}.md names ${name}`);
    }
  }
});

Deno.test("the dashboard is one that Grafana can place: ids, panels side by side, one source", () => {
  const { panels, uid, schemaVersion, templating } = dashboard;
  assert.ok(uid.length <= 40 && schemaVersion >= 36);
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  assert.deepEqual(templating.list.map(({ name }) => name), ["datasource", "vendor", "model"]);
  const taken = new Map<string, string>();
  for (const { title, type, gridPos: { x, y, w, h }, datasource, targets = [] } of panels) {
    assert.ok(x >= 0 && x + w <= 24, title);
    for (let column = x; column < x + w; column++) {
      for (let line = y; line < y + h; line++) {
        const at = `${column}/${line}`;
        assert.equal(taken.get(at), undefined, `${title} lies on ${taken.get(at)}`);
        taken.set(at, title);
      }
    }
    if (type === "row") continue;
    assert.equal(datasource?.uid, "${datasource}", title);
    assert.ok(targets.length > 0, title);
    assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
  }
});

Deno.test("each alert has an expression, a severity, and words for who is woken", () => {
  const [, ...rules] = alerts.split(/^ +- alert: /m);
  assert.ok(rules.length >= 10);
  const names = rules.map((rule) => rule.slice(0, rule.indexOf("\n")));
  assert.equal(new Set(names).size, rules.length);
  for (const [at, rule] of rules.entries()) {
    assert.match(names[at]!, /^Gateway[A-Z]\w+$/);
    assert.match(rule, /^ +expr: [^]*gateway_/m, names[at]);
    assert.match(rule, /^ +labels: \{ severity: (warning|critical) \}$/m, names[at]);
    assert.match(rule, /^ +summary: \S.*\n +description: \S/m, names[at]);
  }
});

const promtool = Deno.env.get("PROMTOOL") ?? "promtool";
const isThere = await runs(promtool);

async function runs(program: string): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(program, { args: ["--version"] }).output();
    return success;
  } catch {
    return false;
  }
}

/** Debian's package `prometheus` has it, which the gate installs where it may. */
Deno.test({
  name: `promtool takes the rules, each expression of the dashboard, and the metrics${
    isThere ? "" : " (skipped: promtool is not installed)"
  }`,
  ignore: !isThere,
  async fn() {
    const run = async (args: string[], stdin = "") => {
      const child = new Deno.Command(promtool, {
        args,
        cwd: folder,
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(stdin));
      await writer.close();
      const { code, stdout, stderr } = await child.output();
      const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      assert.equal(code, 0, output);
      return output;
    };
    await run(["check", "rules", "alerts.yaml"]);
    await run(["test", "rules", "alerts.test.yaml"]);
    const rules = expressions.map((expr, at) => ({
      record: `panel:${at}`,
      expr: expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$(vendor|model)/g, ".*"),
    }));
    const file = await Deno.makeTempFile({ suffix: ".yaml" });
    await Deno.writeTextFile(file, JSON.stringify({ groups: [{ name: "panels", rules }] }));
    await run(["check", "rules", file]);
    await Deno.remove(file);
    const { text } = await shown();
    await run(["check", "metrics"], text);
  },
});

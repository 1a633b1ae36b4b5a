import { parseArgs } from "node:util";

/** Options of `deno task conformance`. */
export interface ConformanceOptions {
  readonly baseUrl: string;
  readonly key: string;
  /** Models to test, as `<provider>/<model_name>`. */
  readonly models: readonly string[];
  /** The virtual model for the table of routing. */
  readonly virtual: string | undefined;
}

export const conformanceUsage =
  "deno task conformance --base-url URL --key API_KEY [--model VENDOR/NAME]… [--virtual NAME]";

/** Parses the arguments. Throws a one-line Error for a missing or invalid option. */
export function readConformanceOptions(argv: readonly string[]): ConformanceOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      "base-url": { type: "string" },
      key: { type: "string" },
      model: { type: "string", multiple: true },
      virtual: { type: "string" },
    },
  });
  const { "base-url": baseUrl, key, model: models = [], virtual } = values;
  if (!baseUrl) throw new Error("--base-url is missing");
  if (!key) throw new Error("--key is missing");
  if (!/^https?:/.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new Error(`--base-url ${baseUrl}: expected a URL such as http://127.0.0.1:8787`);
  }
  for (const model of models) {
    if (!/^[^/]+\/./.test(model)) {
      throw new Error(`--model ${model}: expected a vendor and a name, such as openai/gpt-5-mini`);
    }
  }
  return { baseUrl: baseUrl.replace(/\/+$/, ""), key, models, virtual };
}

/** A generator of clients, as its users run it. */
export interface Generator {
  /** Folder of what it makes, and of its program. */
  readonly name: string;
  /** What is shown for it. */
  readonly title: string;
  /** Package that is run, and its arguments; `document` is a path below the project. */
  command(document: string, target: string, baseUrl: string): string[];
  /** Calls the service with what was generated: reads BASE_URL and API_KEY, prints its findings. */
  readonly program: string;
}

/** Exact versions, so that a run says the same next year. */
export const packages: Readonly<Record<string, string>> = {
  "typescript": "5.9.3",
  "openapi-typescript": "7.13.0",
  "openapi-fetch": "0.17.0",
  "@hey-api/openapi-ts": "0.99.0",
  // The last that installs: newer ones need a package that the registry doesn't have.
  "orval": "8.24.0",
  "@openapitools/openapi-generator-cli": "2.41.0",
};

const body = `{ model: "vendor-b/gpt-4.1", messages: [{ role: "user", content: "[say:Hello.]" }] }`;
const wrong = `{ model: "vendor-b/none", messages: [{ role: "user", content: "x" }] }`;
const range = `{ start_date: "2020-01-01T00:00:00Z", tables: ["interactions"] }`;
const head = `
declare const process: { env: Record<string, string> };
const [baseUrl, apiKey] = [process.env.BASE_URL!, process.env.API_KEY!];
`;

export const generators: readonly Generator[] = [
  {
    name: "fetch",
    title: "openapi-typescript + openapi-fetch",
    command: (document, target) => ["openapi-typescript", document, "-o", `${target}/types.ts`],
    program: `
import createClient from "openapi-fetch";
import type { paths } from "./types";
${head}
async function main() {
  const client = createClient<paths>({ baseUrl, headers: { authorization: "Bearer " + apiKey } });
  const models = await client.GET("/chat/v1/models");
  const chat = await client.POST("/chat/v1/chat/completions", { body: ${body} });
  const message = await client.POST("/vendor-c/v1/messages", {
    body: { model: "claude-haiku-4-5", max_tokens: 64, messages: [{ role: "user", content: "[say:Hello.]" }] },
  });
  const rows = await client.POST("/api/v1/exports", { body: ${range} as never });
  const failed = await client.POST("/chat/v1/chat/completions", { body: ${wrong} });
  // The types know that both could be streams.
  if (!("object" in chat.data!) || chat.data.object !== "chat.completion") throw new Error("chat");
  if (!("type" in message.data!) || message.data.type !== "message") throw new Error("message");
  console.log(JSON.stringify([
    models.data!.data.length > 6,
    chat.data.choices[0]!.message.content,
    (message.data.content as { text: string }[])[0]!.text,
    (rows.data as unknown[]).length,
    failed.error!.error.code,
  ]));
}
main();
`,
  },
  {
    name: "hey",
    title: "@hey-api/openapi-ts",
    command: (document, target) => ["openapi-ts", "-i", document, "-o", target, "--no-log-file"],
    program: `
import { createChatCompletion, createExport, createMessageVendorC, listModels } from "./sdk.gen";
import { client } from "./client.gen";
${head}
async function main() {
  client.setConfig({ baseUrl, auth: () => apiKey });
  const models = await listModels({ throwOnError: true });
  const chat = await createChatCompletion({ throwOnError: true, body: ${body} });
  const message = await createMessageVendorC({
    throwOnError: true,
    body: { model: "claude-haiku-4-5", max_tokens: 64, messages: [{ role: "user", content: "[say:Hello.]" }] },
  });
  const rows = await createExport({ throwOnError: true, body: ${range} });
  const failed = await createChatCompletion({ body: ${wrong} });
  console.log(JSON.stringify([
    models.data.data.length > 6,
    chat.data.choices[0]!.message.content,
    message.data.content[0]!.text,
    (rows.data as unknown[]).length,
    failed.error!.error.code,
  ]));
}
main();
`,
  },
  {
    name: "orval",
    title: "orval",
    command: (document, target, baseUrl) => [
      "orval",
      "--config",
      orvalSettings(document, target, baseUrl),
    ],
    program: `
import { createChatCompletion, createExport, createMessageVendorC, listModels } from "./client";
${head}
async function main() {
  void baseUrl;
  const key = { headers: { authorization: "Bearer " + apiKey } };
  const models = await listModels(key);
  const chat = await createChatCompletion(${body}, key);
  const message = await createMessageVendorC(
    { model: "claude-haiku-4-5", max_tokens: 64, messages: [{ role: "user", content: "[say:Hello.]" }] },
    key,
  );
  const rows = await createExport(${range} as never, key);
  const failed = await createChatCompletion(${wrong}, key);
  if (models.status !== 200 || chat.status !== 200 || message.status !== 200) throw new Error("status");
  if (failed.status !== 404) throw new Error("status " + failed.status);
  console.log(JSON.stringify([
    models.data.data.length > 6,
    (chat.data as { choices: { message: { content: string } }[] }).choices[0]!.message.content,
    (message.data as { content: { text?: unknown }[] }).content[0]!.text,
    (rows.data as unknown as unknown[]).length,
    failed.data.error.code,
  ]));
}
main();
`,
  },
  {
    name: "generator",
    title: "@openapitools/openapi-generator-cli (typescript-fetch)",
    command: (document, target) => [
      "openapi-generator-cli",
      "generate",
      "-g",
      "typescript-fetch",
      // Else it sends fields under both names, its own and the document's.
      "--additional-properties=modelPropertyNaming=original",
      "-i",
      document,
      "-o",
      target,
    ],
    program: `
import { ChatApi, Configuration, DataManagementApi, ResponseError, VendorCApi } from "./index";
${head}
async function main() {
  const at = new Configuration({ basePath: baseUrl, accessToken: apiKey });
  const chatApi = new ChatApi(at);
  const models = await chatApi.listModels();
  const chat = await chatApi.createChatCompletion({ chatRequest: ${body} });
  const message = await new VendorCApi(at).createMessageVendorC({
    messagesRequest: {
      model: "claude-haiku-4-5",
      max_tokens: 64,
      messages: [{ role: "user", content: "[say:Hello.]" }],
    },
  });
  const rows = await new DataManagementApi(at).createExportRaw({
    exportRequest: { start_date: new Date("2020-01-01T00:00:00Z"), tables: ["interactions"] as never },
  });
  const failed = await chatApi.createChatCompletion({ chatRequest: ${wrong} })
    .then(() => undefined, (thrown: ResponseError) => thrown.response.json());
  console.log(JSON.stringify([
    models.data.length > 6,
    chat.choices[0]!.message.content,
    message.content[0]!.text,
    ((await rows.raw.json()) as unknown[]).length,
    failed.error.code,
  ]));
}
main();
`,
  },
];

function orvalSettings(document: string, target: string, baseUrl: string): string {
  const settings = {
    gateway: {
      input: `./${document}`,
      output: { target: `./${target}/client.ts`, client: "fetch", mode: "single", baseUrl },
    },
  };
  return `data:${JSON.stringify(settings)}`;
}

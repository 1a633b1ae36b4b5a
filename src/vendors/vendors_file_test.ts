import assert from "@std/assert";
import { Secret } from "../base/secret.ts";
import { parseVendorsFile } from "./vendors_file.ts";

const row = {
  label: "corp",
  aliases: ["intern"],
  base_url: "https://llm.corp.example/v1",
  api_key_env: "CORP_KEY",
  dialects: ["chat"],
  auth: "bearer",
};
const secretFrom = (name: string) => name === "CORP_KEY" ? new Secret("canary") : undefined;
const parse = (rows: unknown) => parseVendorsFile(JSON.stringify(rows), secretFrom);

Deno.test("a row is read with its key from the variable it names", () => {
  const [vendor, ...others] = parse([row]);
  assert.equal(others.length, 0);
  assert.equal(vendor?.apiKey?.reveal(), "canary");
  assert.deepEqual({ ...vendor, apiKey: undefined }, {
    label: "corp",
    aliases: ["intern"],
    baseUrl: "https://llm.corp.example/v1",
    apiKey: undefined,
    keyVariable: "CORP_KEY",
    dialects: ["chat"],
    auth: "bearer",
    modelsPath: "/models",
  });
});

Deno.test("aliases, key and models path may be left out; slashes at the end don't count", () => {
  const { aliases: _, api_key_env: __, ...short } = row;
  const [vendor] = parse([{ ...short, base_url: "http://127.0.0.1:9/v1//" }]);
  assert.deepEqual([vendor?.aliases, vendor?.apiKey, vendor?.modelsPath, vendor?.baseUrl], [
    [],
    undefined,
    "/models",
    "http://127.0.0.1:9/v1",
  ]);
  assert.equal(parse([{ ...row, api_key_env: "UNSET" }])[0]?.apiKey, undefined);
  assert.equal(parse([{ ...row, models_path: "/v2/list" }])[0]?.modelsPath, "/v2/list");
  assert.equal(parse([{ ...row, base_url: " https://x/v1/ \n" }])[0]?.baseUrl, "https://x/v1");
  assert.deepEqual(parse([]), []);
});

Deno.test("a row names the dialect that others are translated to", () => {
  const dialects = ["chat", "responses"];
  const read = (more: object) => parse([{ ...row, dialects, ...more }])[0]?.translateTo;
  assert.deepEqual([read({}), read({ translate_to: "responses" })], [undefined, "responses"]);
});

const wrong: [string, unknown, RegExp][] = [
  ["no array", row, /^the file: .*array/],
  ["no object", [7], /^\[0\]: /],
  ["no label", [{ ...row, label: undefined }], /^\[0\]\.label: /],
  ["a label in capitals", [{ ...row, label: "Corp" }], /^\[0\]\.label: expected lower-case/],
  ["a label with a slash", [{ ...row, label: "a/b" }], /^\[0\]\.label: expected/],
  ["an empty alias", [row, { ...row, aliases: [""] }], /^\[1\]\.aliases\[0\]: expected/],
  ["no address", [{ ...row, base_url: undefined }], /^\[0\]\.base_url: /],
  ["an address of another kind", [{ ...row, base_url: "ftp://x" }], /^\[0\]\.base_url: /],
  [
    "an address with a query",
    [{ ...row, base_url: "https://x/v1?y=1" }],
    /^\[0\]\.base_url: .*query/,
  ],
  [
    "an address with a key",
    [{ ...row, base_url: "https://u:p@x/v1" }],
    /^\[0\]\.base_url: .*query/,
  ],
  ["an unknown dialect", [{ ...row, dialects: ["soap"] }], /^\[0\]\.dialects\[0\]: .*chat/],
  ["no dialect", [{ ...row, dialects: [] }], /^\[0\]\.dialects: expected at least 1 item\.$/],
  ["an unknown auth", [{ ...row, auth: "basic" }], /^\[0\]\.auth: .*bearer.*x-goog-api-key/],
  ["no auth", [{ ...row, auth: undefined }], /^\[0\]\.auth: required, expected 'bearer' or /],
  ["an object", { ...row }, /^the file: expected an array, received an object\.$/],
  ["a key in place of its variable", [{ ...row, api_key_env: "sk-1" }], /^\[0\]\.api_key_env: /],
  [
    "a relative models path",
    [{ ...row, models_path: "m" }],
    /^\[0\]\.models_path: expected a path/,
  ],
  [
    "an unknown field",
    [{ ...row, region: "canary" }],
    /^\[0\]\.region: unknown field, expected one of label, /,
  ],
  [
    "a field for the key itself",
    [{ ...row, api_key: "canary" }],
    /^\[0\]\.api_key: unknown field\. Did you mean 'api_key_env'\?$/,
  ],
  [
    "an unknown dialect to translate to",
    [{ ...row, translate_to: "soap" }],
    /^\[0\]\.translate_to/,
  ],
  ["one that isn't the row's", [{ ...row, translate_to: "messages" }], /^\[0\]\.translate_to: /],
  ["a path of the service for a label", [{ ...row, label: "api" }], /^\[0\]: api is a path of/],
  ["one for an alias", [row, { ...row, aliases: ["dashboard"] }], /^\[1\]: dashboard is a path/],
];
for (const [name, rows, message] of wrong) {
  Deno.test(`${name} stops the start with one line that names the place`, () => {
    assert.throws(() => parse(rows), { message });
    assert.throws(() => parse(rows), (thrown: Error) => !/[\r\n]|canary/.test(thrown.message));
  });
}

Deno.test("a file that is not JSON is refused as such", () => {
  assert.throws(() => parseVendorsFile("[{", secretFrom), { message: "the file is not JSON" });
});

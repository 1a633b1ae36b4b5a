import assert from "@std/assert";
import { finish } from "../base/steps.ts";
import { chat } from "../dialects/text/chat/mod.ts";
import { generate } from "../dialects/text/generate/mod.ts";
import { messages } from "../dialects/text/messages/mod.ts";
import { responses } from "../dialects/text/responses/mod.ts";
import {
  type CredentialField,
  withMaskedCredentials,
} from "../dialects/kernel/credential_field.ts";
import { lacksCredentials, maskCredentialsSteps } from "./mask_credentials.ts";

const masked = (text: string, fields: readonly CredentialField[]) =>
  finish(maskCredentialsSteps(text, fields));

/** Requests with `«…»` around what isn't recorded, and what stands there instead. */
const requests: readonly [
  name: string,
  of: { credentialFields: readonly CredentialField[] },
  string,
][] = [
  [
    "an MCP tool",
    responses,
    `{"tools" : [{"type":"mcp","authorization":«"tok\\u0065n"»,"headers":{"A":«"b"»,"C":«7»}, "x":1.0},
      {"type":"mcp","server_url":«"https://u:p@mcp.example.com:444/path?q=1"=>https://mcp.example.com:444/***»}]}`,
  ],
  [
    "an added tool",
    responses,
    `{"input":["x",{"type":"additional_tools","tools":[{"authorization":«"t"»}]}]}`,
  ],
  [
    "a container's secrets",
    responses,
    `{"tools":[{"type":"shell","environment":{"network_policy":{"domain_secrets":[
      {"domain":"example.com","name":"KEY","value":«"s"»}]}}}]}`,
  ],
  ["headers in one text", responses, `{"tools":[{"type":"mcp","headers":«"Authorization: t"»}]}`],
  ["a tool of a chat vendor", chat, `{"tools":[{"type":"mcp","authorization":«"t"»}]}`],
  [
    "an MCP server",
    messages,
    `{"mcp_servers":[{"url":«"https://mcp.example.com/s/secret"=>https://mcp.example.com/***»,
      "authorization_token":«"t"»,"name":"n"},{"url":«"no address"»,"authorization_token":null}]}`,
  ],
  [
    "an MCP server of Gemini",
    generate,
    `{"tools":[{"mcpServers":[{"streamableHttpTransport":{"headers":{"A":«"t"»}}}]},
      {"mcp_servers":[{"streamable_http_transport":{"headers":{"A":«"t"»}}}]},
      {"mcp_servers":{"streamableHttpTransport":{"headers":{"A":«"t"»}}}}]}`,
  ],
  [
    "Gemini's tools",
    generate,
    `{"tools":[{"googleMaps":{"authConfig":«{"apiKey":"t"}»,"enableWidget":true}},
      {"retrieval":{"external_api":{"apiAuth":«{"a":1}»,"auth_config":«{"b":["t"]}»,
        "endpoint":«"https://a.example/x?key=t"=>https://a.example/***»,"apiSpec":"SIMPLE"}}},
      {"parallel_ai_search":{"apiKey":«"t"»,"customConfigs":{"a":"b"}}},
      {"exaAiSearch":{"api_key":«"t"»}}]}`,
  ],
  [
    "an MCP tool, with letters of names as escapes,",
    responses,
    `{"\\u0074ools":[{"autho\\u0072ization":«"t"»,"server\\u005furl":«"x"»,"\\u0068eaders":{"A":«"t"»}}]}`,
  ],
  [
    "a tool whose names stand there twice, or are an asterisk,",
    responses,
    `{"tools":[{"authorization":«"s"»}],"tools":[{"authorization":«"t"»,"authorization":«"u"»,
      "headers":{"*":«"v"»,"A":«"w"»,"A":«"x"»}}]}`,
  ],
];

for (const [name, { credentialFields: fields }, text] of requests) {
  Deno.test(`the credentials of ${name} are masked, and nothing else`, () => {
    const sent = text.replace(/«(.*?)(?:=>.*?)?»/g, "$1");
    const recorded = text.replace(/«.*?(?:=>(.*?))?»/g, (_, left = "***") => `"${left}"`);
    assert.notEqual(recorded, sent);
    assert.equal(masked(sent, fields), recorded);
    assert.equal(masked(recorded, fields), recorded, "masking is idempotent");
    const echoed = withMaskedCredentials(JSON.parse(sent), fields);
    assert.deepEqual(echoed, JSON.parse(recorded), "our own answers have the same masks");
    assert.deepEqual([sent, recorded].map((one) => lacksCredentials(one, fields)), [false, true]);
  });
}

Deno.test("the same words elsewhere, and an address without a path, are recorded", () => {
  const sent = JSON.stringify({
    input: [{ role: "user", content: '"authorization": "***", "server_url"' }],
    tools: [
      { type: "function", name: "f", parameters: { properties: { authorization: {} } } },
      { type: "mcp", server_url: "https://mcp.example.com", authorization: null },
    ],
    metadata: { authorization: "***", headers: { a: "b" } },
  });
  assert.equal(masked(sent, responses.credentialFields), sent);
  assert.equal(lacksCredentials(sent, responses.credentialFields), false);
});

Deno.test("what isn't an object, or has other types there, stays", () => {
  const { credentialFields: fields } = responses;
  for (
    const text of [
      '"authorization"',
      "[]",
      '{"tools":"authorization"}',
      '{"tools":{"authorization":1}}',
      '{"input":"authorization","tools":[null,3,"headers",[],{"headers":7}]}',
    ]
  ) {
    assert.equal(masked(text, fields), text, text);
  }
});

Deno.test("many tools are searched in steps, and a long value is masked unread", () => {
  const { credentialFields: fields } = responses;
  const count = 50_000;
  const tool = '{"headers":{"A":"t"}}';
  const steps = maskCredentialsSteps(`{"tools":[${Array(count).fill(tool).join(",")}]}`, fields);
  let taken = 1;
  let step = steps.next();
  for (; !step.done; step = steps.next()) taken++;
  assert.ok(taken > count / 256, `${taken} steps for ${count} tools`);
  assert.equal(step.value.split('"***"').length - 1, count);
  const address = `{"tools":[{"server_url":"https://mcp.example.com/${"a".repeat(10_000)}"}]}`;
  assert.equal(masked(address, fields), '{"tools":[{"server_url":"***"}]}');
});

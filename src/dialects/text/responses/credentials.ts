import type { CredentialField } from "../../kernel/credential_field.ts";

const ofTool: readonly CredentialField[] = [
  { path: ["authorization"] },
  { path: ["headers", "*"] },
  { path: ["server_url"], isAddress: true },
  { path: ["container", "network_policy", "domain_secrets", "*", "value"] },
  { path: ["environment", "network_policy", "domain_secrets", "*", "value"] },
];

/** Those of MCP servers and containers, in the request's tools and in items that add tools. */
export const credentialFields: readonly CredentialField[] = [
  ["tools", "*"],
  ["input", "*", "tools", "*"],
].flatMap((tool) => ofTool.map((field) => ({ ...field, path: [...tool, ...field.path] })));

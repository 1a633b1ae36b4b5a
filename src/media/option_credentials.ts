import type { CredentialField } from "../dialects/kernel/credential_field.ts";
import { dialects } from "../dialects/text/mod.ts";

/** Those in `provider_options`, which become part of a vendor's request in any dialect. */
export const optionCredentials: readonly CredentialField[] = Object.values(dialects)
  .flatMap(({ credentialFields }) => credentialFields)
  .map((field) => ({ ...field, path: ["provider_options", "*", ...field.path] }));

import { vendorFamilies } from "../calls/vendors.ts";

/** A family of endpoints: its name in contracts, and a paragraph for the document. */
export interface Tag {
  readonly name: string;
  /** Its name on pages. */
  readonly title: string;
  readonly description: string;
}

/** The families in the order of the document: first those of all vendors, then each vendor's. */
export const tags: readonly Tag[] = [
  {
    name: "chat",
    title: "Chat, any vendor",
    description:
      "One family for every vendor, in four dialects. The vendor is chosen by the model's name, `<provider>/<model_name>`, where the provider is a label or an alias (`vendor-b/gpt-5-mini`, `openai/gpt-5-mini`); a name that one vendor has as its own needs no provider, and virtual models have names of their own. Where caller and vendor speak the same dialect, bytes are forwarded unchanged; otherwise the request is translated, and fields that can't be carried are named in `X-Translation-Loss`.",
  },
  {
    name: "images",
    title: "Images",
    description:
      "Images: one body for all vendors that generate them; `provider` chooses. Needs a key with the scope `images`. Which vendor supports which field is in `docs/images-and-speech.md`.",
  },
  {
    name: "speech",
    title: "Speech",
    description:
      "Speech (text to speech): one body for all vendors that offer it; `provider` chooses. Needs a key with the scope `speech`.",
  },
  {
    name: "data-management",
    title: "Data: calls, usage, credit, exports, deletion",
    description:
      "Recorded data: the key's status, exports, deletion, outcomes of cohorts, evaluations, media of stored payloads. Everything is limited to the account that the key belongs to. A read that begins after an answer was received includes that call.",
  },
  {
    name: "administration",
    title: "Administration",
    description:
      "What the operator's command line does, over HTTP: accounts, keys, credit, vendor keys, virtual models, prices. Needs a key of the first account with the scope `admin`; a key without scopes may do everything else, but not this. `account_id` names the account; the default is the first one. Each change is in the audit log under the key's name; a secret is shown only once, when it is created.",
  },
  {
    name: "operations",
    title: "Operations",
    description:
      "For the operator's probes and monitoring. No service key is needed; `/metrics` answers on loopback, or with the operator's own token.",
  },
  ...vendorFamilies.map((family) => ({
    name: family.label,
    title: `${family.name} (${family.label})`,
    description: `${family.name}, ${
      /^[aeiou]/.test(family.kind) ? "an" : "a"
    } ${family.kind}. Also answers under ${
      family.aliases.map((alias) => `\`/${alias}\``).join(", ")
    }. Model names are the vendor's own, with or without the provider in front. Needs a key with the scope \`${family.label}\`, and credit, unless a vendor key of your own is stored or sent along.`,
  })),
];

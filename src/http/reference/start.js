/** Shows the document of the service that this page comes from. Nothing typed in is kept. */
globalThis.Scalar.createApiReference("#reference", {
  url: "/openapi.json",
  // Calls go where the page comes from: the policy allows no other address.
  servers: [{ url: globalThis.location.origin, description: "This service" }],
  authentication: { preferredSecurityScheme: "bearer" },
  persistAuth: false,
  proxyUrl: "",
  telemetry: false,
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  agent: { disabled: true, hideAddApi: true },
  mcp: { disabled: true },
  // Each operation shows its schemas; by themselves they would come first in the search.
  hideModels: true,
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  documentDownloadType: "direct",
});

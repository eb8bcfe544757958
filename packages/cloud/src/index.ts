export { type CloudProvidersOptions, cloudProviders } from "./providers.ts";

/** What clients ask before anything else: where the API is, and whether somebody is there. */
import type { FastifyInstance } from "fastify";
import { basePath } from "./respond.ts";

const services = ["tfe.v2", "tfe.v2.1", "tfe.v2.2", "state.v2"];

export function mountDiscovery(server: FastifyInstance): void {
  const document = Object.fromEntries(services.map((service) => [service, `${basePath}/`]));
  server.get("/.well-known/terraform.json", async () => document);
  server.get(`${basePath}/ping`, async (_request, reply) => reply.code(204).send());
}

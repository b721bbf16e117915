/** Operations on commits: load → authorize. */
import { notFound } from "../../../kernel/errors.ts";
import { implement } from "../../shared/context.ts";
import { loadConfigurationVersion } from "../configuration-versions/reads.ts";
import { ingressAttributes } from "./definition.ts";

export const ingressAttributesResource = implement(ingressAttributes, {
  async showIngressAttributes({ context, params }) {
    const version = await loadConfigurationVersion(context.database.reader, context, params.configurationVersionId);
    if (version.ingressId === null) throw notFound("commit of this configuration version");
    return { view: version };
  },
});

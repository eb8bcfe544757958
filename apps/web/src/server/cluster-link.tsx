import { TextLink } from "../parts/link.tsx";

/** @param props Of the server that manages the cluster. */
export const ClusterLink = ({ uuid, name }: { readonly uuid: string; readonly name: string }) => (
  <TextLink to="/servers/$uuid/{-$tab}" params={{ uuid, tab: "nodes" }} size="sm">
    the cluster of {name}
  </TextLink>
);

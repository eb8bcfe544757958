import SharedVariables from "../parts/shared-variables.tsx";

export default function SharedVariablesTab() {
  return <SharedVariables scope="team" />;
}

import { below, words, type BuiltIn } from './grammar.ts';

/** cobra and pflag; `_` in an option's name is read as `-`. */
export const kubectl: BuiltIn = {
  subcommands: [
    ...words(`
      get describe logs apply delete edit exec attach cp port-forward proxy run expose scale autoscale
      patch replace wait kustomize label annotate explain api-resources api-versions diff drain cordon
      uncordon taint debug events version
    `),
    ...below('apply', 'edit-last-applied set-last-applied view-last-applied'),
    ...below(
      'create',
      `
      clusterrole clusterrolebinding configmap cm cronjob cj deployment deploy ingress ing job
      namespace ns poddisruptionbudget pdb priorityclass pc quota resourcequota role rolebinding
      service svc serviceaccount sa token secret
    `,
    ),
    ...below('create secret', 'docker-registry generic tls'),
    ...below('create service', 'clusterip externalname loadbalancer nodeport'),
    ...below('set', 'env image resources selector serviceaccount sa subject'),
    ...below('rollout', 'history pause restart resume status undo'),
    ...below('top', 'node nodes no pod pods po'),
    ...below(
      'config',
      `
      current-context delete-cluster delete-context delete-user get-clusters get-contexts get-users
      rename-context set set-cluster set-context set-credentials unset use use-context view
    `,
    ),
    ...below('auth', 'can-i reconcile whoami'),
    ...below('certificate', 'approve deny'),
    ...below('cluster-info', 'dump'),
    ...below('plugin', 'list'),
  ],
  // A list in CSV: "-f a.yaml,/etc/x,http://host/y" reads all three.
  special: { '-f': ',"', '--filename': ',"' },
  valueFlags: {
    '': words('-n --namespace -o --output -l --selector -f --filename -c --container -s'),
    get: words('--field-selector --sort-by --template --raw -L --label-columns --chunk-size'),
    logs: words('--tail --since --since-time --limit-bytes --max-log-requests'),
  },
};

import type { BuiltIn } from './grammar.ts';

/** cobra and pflag; `_` in an option's name is read as `-`. */
export const kubectl: BuiltIn = {
  subcommands: [
    ...[
      'get',
      'describe',
      'logs',
      'apply',
      'delete',
      'edit',
      'exec',
      'attach',
      'cp',
      'port-forward',
      'proxy',
      'run',
    ],
    ...[
      'expose',
      'scale',
      'autoscale',
      'patch',
      'replace',
      'wait',
      'kustomize',
      'label',
      'annotate',
      'explain',
    ],
    ...[
      'api-resources',
      'api-versions',
      'diff',
      'drain',
      'cordon',
      'uncordon',
      'taint',
      'debug',
      'events',
      'version',
    ],
    ...words('apply', 'edit-last-applied set-last-applied view-last-applied'),
    ...words(
      'create',
      'clusterrole clusterrolebinding configmap cm cronjob cj deployment deploy ingress ing job',
    ),
    ...words(
      'create',
      'namespace ns poddisruptionbudget pdb priorityclass pc quota resourcequota role rolebinding',
    ),
    ...words('create', 'service svc serviceaccount sa token secret'),
    ...words('create secret', 'docker-registry generic tls'),
    ...words('create service', 'clusterip externalname loadbalancer nodeport'),
    ...words('set', 'env image resources selector serviceaccount sa subject'),
    ...words('rollout', 'history pause restart resume status undo'),
    ...words('top', 'node nodes no pod pods po'),
    ...words(
      'config',
      'current-context delete-cluster delete-context delete-user get-clusters get-contexts get-users',
    ),
    ...words(
      'config',
      'rename-context set set-cluster set-context set-credentials unset use use-context view',
    ),
    ...words('auth', 'can-i reconcile whoami'),
    ...words('certificate', 'approve deny'),
    ...words('cluster-info', 'dump'),
    ...words('plugin', 'list'),
  ],
  // A list in CSV: "-f a.yaml,/etc/x,http://host/y" reads all three.
  special: { '-f': ',"', '--filename': ',"' },
  valueFlags: {
    '': [
      '-n',
      '--namespace',
      '-o',
      '--output',
      '-l',
      '--selector',
      '-f',
      '--filename',
      '-c',
      '--container',
      '-s',
    ],
    get: ['--field-selector', '--sort-by', '--template', '--raw', '-L', '--label-columns', '--chunk-size'],
    logs: ['--tail', '--since', '--since-time', '--limit-bytes', '--max-log-requests'],
  },
};

function words(group: string, list: string): string[] {
  return list.split(' ').map((word) => `${group} ${word}`);
}

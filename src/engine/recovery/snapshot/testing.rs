//! What a snapshot may have seen, for tests.

use crate::model::{
    ids::{DeploymentName, InstanceName, Namespace, RouteName, WorkloadName},
    kubernetes::{
        BackendSeen, PodId, PodSeen, RouteSeen, ScaleSeen, ServingSeen, Workload, WorkloadKind, WorkloadSeen,
    },
    snapshot::{GatewayServer, GatewayState, KubernetesSeen},
};

pub(in crate::engine::recovery) fn instance() -> InstanceName {
    InstanceName::new("order-0").unwrap()
}

/// Order-0 at this gateway, with all of its weight.
pub(in crate::engine::recovery) fn server(at: &str) -> GatewayServer {
    GatewayServer {
        at: at.into(),
        instance: instance(),
        weight: 100,
        initial_weight: 100,
        state: GatewayState::Ready,
        running: true,
    }
}

/// One of each thing of Kubernetes, all of it well.
pub(in crate::engine::recovery) fn kubernetes() -> KubernetesSeen {
    let namespace = Namespace::new("shop").unwrap();
    let pod = PodId {
        namespace: namespace.clone(),
        name: "order-0".into(),
        uid: "1".into(),
    };
    KubernetesSeen {
        pods: vec![PodSeen {
            instance: instance(),
            pod: pod.clone(),
            selector: "app=order-0".into(),
            ready: true,
        }],
        serving: vec![ServingSeen {
            instance: instance(),
            pod,
            selector: "app=order-0".into(),
            label: Some("true".into()),
            serves_with: Some("true".into()),
            services: vec!["order".into()],
            ready: true,
        }],
        rollouts: vec![WorkloadSeen {
            instance: instance(),
            workload: Workload {
                namespace: namespace.clone(),
                kind: WorkloadKind::Deployment,
                name: WorkloadName::new("order-0").unwrap(),
            },
            uid: "4".into(),
            restarted_at: None,
            ready: true,
        }],
        scales: vec![ScaleSeen {
            entry: 0,
            namespace: namespace.clone(),
            deployment: DeploymentName::new("retry").unwrap(),
            uid: "2".into(),
            replicas: 2,
            ready: 2,
        }],
        route: Some(RouteSeen {
            namespace,
            route: RouteName::new("order").unwrap(),
            uid: "3".into(),
            backends: vec![BackendSeen {
                instance: instance(),
                service: "order-0".into(),
                rule: 0,
                backend: 1,
            }],
        }),
    }
}

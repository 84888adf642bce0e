//! The commands that put Kafka's quotas back by hand, with Kafka's own tool. They hold no secret.

use crate::model::{
    environment::{Kafka, KafkaSasl, SecretRef},
    quota::QuotaSeen,
};

use super::{quoted, secret};

/// One quota as it was before the drill.
pub(in crate::engine::recovery) fn set_quota(
    cluster: &Kafka,
    QuotaSeen { payer, bytes }: &QuotaSeen,
) -> String {
    let user = payer
        .user
        .iter()
        .map(|u| format!(" --entity-type users --entity-name {}", quoted(u)));
    let user: String = user.collect();
    let client = quoted(&payer.client);
    let change = match bytes {
        Some(bytes) => format!("--add-config consumer_byte_rate={bytes}"),
        None => "--delete-config consumer_byte_rate".to_owned(),
    };
    let (before, settings) = match settings(cluster) {
        Some(settings) => (format!("{settings} | "), " --command-config /dev/stdin"),
        None => (String::new(), ""),
    };
    let bootstrap = quoted(&cluster.bootstrap.join(","));
    format!(
        "{before}kafka-configs.sh --bootstrap-server {bootstrap}{settings} --alter {change}{user} --entity-type clients --entity-name {client}"
    )
}

/// A command that prints the tool's settings: TLS and login. Passwords and keys are read where they are found.
fn settings(cluster: &Kafka) -> Option<String> {
    let protocol = match (&cluster.tls, &cluster.sasl) {
        (None, None) => return None,
        (Some(_), None) => "SSL",
        (None, Some(_)) => "SASL_PLAINTEXT",
        (Some(_), Some(_)) => "SASL_SSL",
    };
    let mut lines = format!("security.protocol={protocol}\\n");
    let mut values = Vec::new();
    if let Some(tls) = &cluster.tls {
        if let Some(file) = &tls.ca_file {
            lines += "ssl.truststore.type=PEM\\nssl.truststore.location=%s\\n";
            values.push(quoted(file));
        }
        if let Some(own) = &tls.client_cert {
            lines += "ssl.keystore.type=PEM\\nssl.keystore.certificate.chain=%s\\nssl.keystore.key=%s\\n";
            values.extend([&own.cert_file, &own.key_file].map(|file| one_line(file)));
        }
    }
    if let Some(sasl) = &cluster.sasl {
        let (mechanism, module) = match sasl {
            KafkaSasl::Plain(_) => ("PLAIN", "plain.PlainLoginModule"),
            KafkaSasl::ScramSha256(_) => ("SCRAM-SHA-256", "scram.ScramLoginModule"),
            KafkaSasl::ScramSha512(_) => ("SCRAM-SHA-512", "scram.ScramLoginModule"),
        };
        lines += &format!("sasl.mechanism={mechanism}\\n");
        lines += &format!("sasl.jaas.config=org.apache.kafka.common.security.{module} required ");
        lines += "username=\"%s\" password=\"%s\";\\n";
        let user = sasl.login().user.replace('\\', r"\\\\").replace('"', r#"\\""#);
        values.push(quoted(&user));
        values.push(escaped(&sasl.login().password));
    }
    Some(format!("printf '{lines}' {}", values.join(" ")))
}

/// A file's lines in one, as a properties file continues them.
fn one_line(file: &str) -> String {
    format!("\"$(awk '{{printf \"%s\\\\n\", $0}}' {})\"", quoted(file))
}

/// A secret inside a quoted string of JAAS, in a properties file: both read a backslash as the beginning of something else.
fn escaped(place: &SecretRef) -> String {
    let jaas_then_properties = r#"s/[\\"]/\\&/g; s/\\/\\\\/g"#;
    format!(
        "\"$(printf %s {} | sed '{jaas_then_properties}')\"",
        secret(place)
    )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::model::environment::KafkaLogin;

    /// As a properties file, and a quoted string of JAAS, take a backslash away and keep what follows.
    fn unescaped(text: &str) -> String {
        let mut chars = text.chars();
        let mut read = String::new();
        while let Some(c) = chars.next() {
            read.extend(if c == '\\' { chars.next() } else { Some(c) });
        }
        read
    }

    #[test]
    fn a_login_with_quotes_and_backslashes_reaches_kafkas_tool_as_it_is() {
        let (user, password) = (r#"a\b"c"#, r#"1'\"\\2$x`%s"#);
        let login = KafkaLogin {
            user: user.to_owned(),
            password: SecretRef::Env("PW".into()),
        };
        let cluster = Kafka {
            bootstrap: vec!["h:1".into()],
            tls: None,
            sasl: Some(KafkaSasl::Plain(login)),
        };
        let printed = settings(&cluster).unwrap();
        let said = Command::new("sh")
            .args(["-c", &printed])
            .env("PW", password)
            .output()
            .unwrap();
        let file = String::from_utf8(said.stdout).unwrap();
        let mut lines = file.lines();
        let jaas = lines.find_map(|l| l.strip_prefix("sasl.jaas.config=")).unwrap();
        let jaas = unescaped(jaas);
        let (_, after) = jaas.split_once(r#" username=""#).unwrap();
        let (seen_user, after) = after.split_once(r#"" password=""#).unwrap();
        let seen_password = after.strip_suffix(r#"";"#).unwrap();
        let seen = [seen_user, seen_password].map(unescaped);
        assert_eq!(seen, [user, password]);
    }
}

//! SCRAM-SHA-256 and SCRAM-SHA-512, the client's part. Source: RFC 5802, RFC 7677.

use std::num::NonZeroU32;

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use ring::{digest, hmac, pbkdf2};

/// Work that a server may ask for at most. Kafka's own bound is 16,384.
const ITERATIONS: u32 = 100_000;

/// Which hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Sha256,
    Sha512,
}

impl Hash {
    pub(super) fn mechanism(self) -> &'static str {
        match self {
            Hash::Sha256 => "SCRAM-SHA-256",
            Hash::Sha512 => "SCRAM-SHA-512",
        }
    }

    fn key(self, key: &[u8]) -> hmac::Key {
        let algorithm = match self {
            Hash::Sha256 => hmac::HMAC_SHA256,
            Hash::Sha512 => hmac::HMAC_SHA512,
        };
        hmac::Key::new(algorithm, key)
    }

    fn hmac(self, key: &[u8], text: &[u8]) -> hmac::Tag {
        hmac::sign(&self.key(key), text)
    }

    fn digest(self, text: &[u8]) -> digest::Digest {
        match self {
            Hash::Sha256 => digest::digest(&digest::SHA256, text),
            Hash::Sha512 => digest::digest(&digest::SHA512, text),
        }
    }

    fn salted(self, password: &str, salt: &[u8], iterations: NonZeroU32) -> Vec<u8> {
        let (algorithm, length) = match self {
            Hash::Sha256 => (pbkdf2::PBKDF2_HMAC_SHA256, digest::SHA256_OUTPUT_LEN),
            Hash::Sha512 => (pbkdf2::PBKDF2_HMAC_SHA512, digest::SHA512_OUTPUT_LEN),
        };
        let mut out = vec![0; length];
        pbkdf2::derive(algorithm, iterations, salt, password.as_bytes(), &mut out);
        out
    }
}

/// A login that has sent its first message.
pub(super) struct Scram {
    hash: Hash,
    nonce: String,
    first: String,
}

impl Scram {
    /// A login with a nonce that nobody has used.
    pub(super) fn new(hash: Hash, user: &str, nonce: String) -> Self {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        let first = format!("n={user},r={nonce}");
        Self { hash, nonce, first }
    }

    /// The first message.
    pub(super) fn first(&self) -> String {
        format!("n,,{}", self.first)
    }

    /// The second message, and what the server must answer to it: only one that knows the password can.
    ///
    /// # Errors
    /// What is wrong with the server's first message.
    pub(super) fn second(&self, server: &str, password: &str) -> Result<(String, Proof), &'static str> {
        let field = |name: &str| server.split(',').find_map(|f| f.strip_prefix(name));
        let nonce = field("r=").filter(|r| r.len() > self.nonce.len() && r.starts_with(&self.nonce));
        let nonce = nonce.ok_or("SCRAM: the server's nonce does not continue ours")?;
        let salt = field("s=").and_then(|s| BASE64.decode(s).ok());
        let salt = salt.ok_or("SCRAM: no salt")?;
        let iterations = field("i=")
            .and_then(|i| i.parse::<u32>().ok())
            .filter(|i| *i <= ITERATIONS);
        let iterations = iterations
            .and_then(NonZeroU32::new)
            .ok_or("SCRAM: a wrong count of iterations")?;
        let salted = self.hash.salted(password, &salt, iterations);
        let last = format!("c=biws,r={nonce}");
        let signed = format!("{},{server},{last}", self.first);
        let client_key = self.hash.hmac(&salted, b"Client Key");
        let stored_key = self.hash.digest(client_key.as_ref());
        let signature = self.hash.hmac(stored_key.as_ref(), signed.as_bytes());
        let proof: Vec<u8> = client_key
            .as_ref()
            .iter()
            .zip(signature.as_ref())
            .map(|(a, b)| a ^ b)
            .collect();
        let proof = BASE64.encode(proof);
        let key = self.hash.key(self.hash.hmac(&salted, b"Server Key").as_ref());
        Ok((format!("{last},p={proof}"), Proof { key, signed }))
    }
}

/// What a server that knows the password answers last.
#[derive(Debug)]
pub(super) struct Proof {
    key: hmac::Key,
    signed: String,
}

impl Proof {
    pub(super) fn is_given_by(&self, server: &str) -> bool {
        let given = server.split(',').find_map(|f| f.strip_prefix("v="));
        let given = given.and_then(|v| BASE64.decode(v).ok()).unwrap_or_default();
        hmac::verify(&self.key, self.signed.as_bytes(), &given).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3.
    #[test]
    fn the_example_of_the_standard_is_reproduced() {
        let scram = Scram::new(Hash::Sha256, "user", "rOprNGfwEbeRWgbNEkqO".into());
        assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let server = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let (second, proof) = scram.second(server, "pencil").unwrap();
        assert_eq!(
            second,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert!(proof.is_given_by("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        assert!(!proof.is_given_by("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5="));
        assert!(!proof.is_given_by(""));
    }

    #[test]
    fn a_server_that_does_not_continue_our_nonce_or_asks_for_endless_work_is_refused() {
        let scram = Scram::new(Hash::Sha512, "a=b,c", "abc".into());
        assert_eq!(scram.first(), "n,,n=a=3Db=2Cc,r=abc");
        for server in [
            "",
            "r=abc,s=QQ==,i=1",
            "r=xbcd,s=QQ==,i=1",
            "r=abcd,s=QQ==,i=0",
            "r=abcd,s=QQ==,i=4000000000",
            "r=abcd,i=1",
        ] {
            assert!(scram.second(server, "p").is_err(), "{server}");
        }
    }
}

import ParseProtocol
import Platform
import Testing

/// The signer against the examples that AWS publishes
/// (docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html and sigv4-query-string-auth.html).
@Suite struct SignatureV4Tests {
    private static let signer = SignatureV4(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1")
    private static let host = "examplebucket.s3.amazonaws.com"

    struct Example: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let request: SignatureV4.Request
        var bodyHash = SignatureV4.emptyHash
        let names: String
        let signature: String
    }

    static let examples = [
        Example(
            testDescription: "the first ten bytes of an object",
            request: .init("GET", host: host, path: "/test.txt", headers: [("Range", "bytes=0-9")]),
            names: "host;range;x-amz-content-sha256;x-amz-date",
            signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        Example(
            testDescription: "an object whose key needs encoding",
            request: .init(
                "PUT", host: host, path: SignatureV4.encoded("/test$file.text", keepsSlashes: true),
                headers: [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")]),
            bodyHash: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
            names: "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
            signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
        Example(
            testDescription: "a parameter without a value",
            request: .init("GET", host: host, path: "/", query: [("lifecycle", "")]),
            names: "host;x-amz-content-sha256;x-amz-date",
            signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        Example(
            testDescription: "parameters in another order",
            request: .init("GET", host: host, path: "/", query: [("prefix", "J"), ("max-keys", "2")]),
            names: "host;x-amz-content-sha256;x-amz-date",
            signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ]

    @Test(arguments: examples) func aRequestIsSignedAsAWSDoes(_ example: Example) throws {
        let moment = try #require(Timestamp(iso: "2013-05-24T00:00:00Z"))
        let headers = Self.signer.headers(for: example.request, bodyHash: example.bodyHash, at: moment)
        let authorization = headers.first { $0.name == "Authorization" }?.value
        #expect(
            authorization == """
                AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,\
                SignedHeaders=\(example.names),Signature=\(example.signature)
                """)
        #expect(headers.first { $0.name == "x-amz-date" }?.value == "20130524T000000Z")
    }

    @Test func aURLIsSignedAsAWSDoes() throws {
        let moment = try #require(Timestamp(iso: "2013-05-24T00:00:00Z"))
        let query = Self.signer.presignedQuery(
            for: .init("GET", host: Self.host, path: "/test.txt"), seconds: 86_400, at: moment)
        #expect(
            query == """
                X-Amz-Algorithm=AWS4-HMAC-SHA256\
                &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
                &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
                &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404
                """)
    }

    @Test(arguments: [
        ("a b~@.txt", "a%20b~%40.txt"), ("-_.~09azAZ", "-_.~09azAZ"), ("a/b", "a%2Fb"), ("ü$+=&", "%C3%BC%24%2B%3D%26"),
        ("", ""),
    ]) func everythingButLettersAndAFewMarksIsEncoded(_ text: String, _ encoded: String) {
        #expect(SignatureV4.encoded(text) == encoded)
    }

    @Test func thePathKeepsItsSlashes() {
        #expect(SignatureV4.encoded("/shop/a b", keepsSlashes: true) == "/shop/a%20b")
    }
}

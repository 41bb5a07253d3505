import GatewayService
import Testing

/// The type of a picture follows the `Accept` header.
@Suite struct AcceptedTypesTests {
    @Test(arguments: [
        "image/webp", "image/avif,image/webp,image/apng,*/*;q=0.8", "IMAGE/WebP", "a/b , image/webp ; q=0.1",
        "image/webp;v=1",
    ])
    func aClientNamesWebP(_ header: String) {
        #expect(AcceptedTypes.include("image/webp", in: header))
    }

    @Test(arguments: [
        nil, "", "*/*", "image/*", "image/webpx", "image/webp;q=0", "image/webp; q=0.000", "text/html;a=image/webp",
        "image/webp;q=x",
    ])
    func aClientDoesNot(_ header: String?) {
        #expect(!AcceptedTypes.include("image/webp", in: header))
    }
}

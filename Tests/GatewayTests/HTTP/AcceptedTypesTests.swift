import GatewayService
import Testing

/// The type of a picture, and whether `/` is a page, follow the `Accept` header.
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

    @Test(arguments: [
        nil, "", " ", "*/*", "text/html", "TEXT/HTML;q=0.9", "text/*", "application/json, text/plain, */*",
        "text/html,application/xhtml+xml,*/*;q=0.8", "text/*;q=0, text/html", "image/png, */*;q=0.1",
    ])
    func aClientTakesAPage(_ header: String?) {
        #expect(AcceptedTypes.allowHTML(in: header))
    }

    @Test(arguments: [
        "application/json", "image/*", "text/plain", "text/html;q=0, */*", "text/*;q=0,*/*", "*/*;q=0",
        "application/json;a=text/html",
    ])
    func aClientTakesNone(_ header: String) {
        #expect(!AcceptedTypes.allowHTML(in: header))
    }
}

/// The calls of `web`.
public enum WebCalls {
    /// All files of the pages for browsers. Sender: gateway.
    public static let site = Call<WebSiteRequest, WebSiteReply>("web.site.v1")
    /// A page behind a mailed link. Sender: gateway.
    public static let page = Call<WebPageRequest, WebPageReply>("web.page.v1")
    /// The next step of a page of the storefront. Sender: gateway.
    public static let shop = Call<ShopRequest, ShopReply>("web.shop.v1")

    /// The Config parameter with the look of the storefront, which goes with each of these requests.
    public static let themeParameter = "storefront"

    static let all: [any DeclaredCall] = [site, page, shop]
}

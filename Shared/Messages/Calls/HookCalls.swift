/// The definitions of webhooks and of cloud code, which `catalog` keeps.
public enum HookCalls {
    /// Every definition. Sender: gateway.
    public static let list = Call<HooksRequest, HooksReply>("catalog.hooks.v1")
    /// Creates, changes or removes a definition. Sender: gateway.
    public static let set = Call<HookChange, Accepted>("catalog.setHook.v1")
    /// Replaces what cloud code defines. Sender: cloud.
    public static let setCode = Call<CodeDefinitions, Accepted>("catalog.setCode.v1")

    static let all: [any DeclaredCall] = [list, set, setCode]
}
